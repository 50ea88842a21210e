// Filters and sorts what the page already shows; without it, the page is whole all the same.
(function () {
  "use strict";

  function filtering(form) {
    const rows = [...document.getElementById(form.dataset.rows).rows];
    const words = new Map();
    const output = form.querySelector("output");
    const controls = [...form.elements].filter((control) => control.name);

    function wordsOf(row) {
      if (!words.has(row)) words.set(row, row.textContent.toLowerCase());
      return words.get(row);
    }

    function fits(row) {
      return controls.every((control) => {
        const wanted = control.value;
        if (!wanted) return true;
        if (control.name === "text") return wordsOf(row).includes(wanted.toLowerCase());
        return row.dataset[control.name] === wanted;
      });
    }

    function apply() {
      let shown = 0;
      for (const row of rows) {
        row.hidden = !fits(row);
        if (!row.hidden) shown += 1;
      }
      output.textContent = shown + " of " + rows.length + " shown";
    }

    form.hidden = false;
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    apply();
  }

  function sorting(table) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];

    function sort(head, direction) {
      const sign = direction === "ascending" ? 1 : -1;
      const keyed = [...body.rows].map((row, place) => {
        const text = row.cells[head.cellIndex].dataset.value;
        const value = head.dataset.kind === "number" && text !== "" ? Number(text) : text;
        return { row, place, value };
      });
      keyed.sort((a, b) => {
        // What is undefined comes last, whichever way one sorts.
        if (a.value === "" || b.value === "") {
          return (a.value === "") - (b.value === "") || a.place - b.place;
        }
        const order = head.dataset.kind === "number"
          ? a.value - b.value
          : a.value.localeCompare(b.value, undefined, { numeric: true });
        return sign * order || a.place - b.place;
      });
      body.append(...keyed.map((each) => each.row));
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", direction);
      table.classList.toggle("by-rank", head.dataset.key === "rank" && sign === 1);
    }

    for (const head of heads) {
      if (!head.dataset.kind) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const first = head.dataset.first || "ascending";
        const second = first === "ascending" ? "descending" : "ascending";
        sort(head, head.getAttribute("aria-sort") === first ? second : first);
      });
    }
  }

  document.querySelectorAll("form.filter").forEach(filtering);
  document.querySelectorAll("table.sortable").forEach(sorting);

  const closed = [];
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details.slices:not([open])")) {
      part.open = true;
      closed.push(part);
    }
  });
  window.addEventListener("afterprint", () => {
    for (const part of closed.splice(0)) part.open = false;
  });
})();
