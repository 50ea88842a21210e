// Filters and sorts what the page already shows; without a script, the page is complete.
(function () {
  "use strict";

  // Above a table of items, or one whose rows are in groups: a search, and a choice of one group.
  function filtering(table) {
    const heads = [...table.tHead.rows].at(-1).cells;
    const place = [...heads].findIndex((head) => "filter" in head.dataset);
    if (place < 0 && !table.classList.contains("items")) return;
    const rows = [...table.tBodies[0].rows];
    const things = place < 0 ? "items" : "systems";
    const groupOf = (row) => (place < 0 ? "" : row.cells[place].dataset.value);
    const form = document.createElement("form");
    form.className = "filter";

    function control(words, made) {
      const label = document.createElement("label");
      label.append(words + " ", made);
      form.append(label);
      return made;
    }

    const search = control("Search", document.createElement("input"));
    search.type = "search";
    search.autocomplete = "off";
    const choice = document.createElement("select");
    choice.append(new Option("all", ""));
    for (const group of new Set(rows.map(groupOf))) choice.append(new Option(group, group));
    if (place >= 0) control("Group", choice);
    const output = document.createElement("output");
    output.setAttribute("aria-live", "polite");
    form.append(output);

    function apply() {
      const words = search.value.toLowerCase();
      for (const row of rows) {
        const fits = row.textContent.toLowerCase().includes(words);
        row.hidden = !fits || (choice.value !== "" && groupOf(row) !== choice.value);
      }
      const shown = rows.filter((row) => !row.hidden).length;
      output.textContent = shown + " of " + rows.length + " " + things + " shown";
    }

    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    table.parentElement.before(form);
    apply();
  }

  function sorting(table) {
    const heads = [...[...table.tHead.rows].at(-1).cells];
    const body = table.tBodies[0];
    const first = heads.find((head) => head.hasAttribute("aria-sort"));
    table.classList.toggle("grouped", first !== undefined);

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
      table.classList.toggle("grouped", head === first && sign === 1);
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

  document.querySelectorAll("table.sortable, table.items").forEach(filtering);
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
