# The daemon beside a mounted vault. Clients reach it by the socket in a mounted folder, so it runs as their user:
#
#   docker build -t workspaced .
#   mkdir -p ~/.local/share/workspaced/docker ~/.local/state/workspaced/docker
#   docker run --rm --user "$(id -u):$(id -g)" \
#     -v ~/notes:/vault:ro \
#     -v ~/.local/share/workspaced/docker:/data \
#     -v ~/.local/state/workspaced/docker:/run/workspaced \
#     workspaced
#   workspaced state --socket ~/.local/state/workspaced/docker/workspaced.sock
FROM python:3.12-slim AS build
COPY . /src
RUN pip wheel --no-cache-dir --wheel-dir /wheels /src

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels workspaced && rm -r /wheels
ENV HOME=/data
VOLUME ["/data"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["workspaced", "serve", "--vault", "/vault", "--data-dir", "/data/log", "--socket", "/run/workspaced/workspaced.sock"]
