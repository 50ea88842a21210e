# The kit with the model that ships with it:
#   docker build -t shroom . && docker run --rm -v "$PWD:/data" --user "$(id -u)" shroom score pred.json gold.json
FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
RUN python -m venv /opt/shroom \
    && /opt/shroom/bin/pip install --no-cache-dir --constraint constraints.txt ".[onnx,report]"

FROM python:3.11-slim
COPY --from=build /opt/shroom /opt/shroom
ENV PATH="/opt/shroom/bin:$PATH" SHROOM_CACHE=/tmp/shroom
USER 1000
WORKDIR /data
ENTRYPOINT ["shroom"]
CMD ["--help"]
