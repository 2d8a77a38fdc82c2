# The service in an image: `docker build -t gradwire .`; with GPUs `--build-arg VARIANT=cuda`.
#
# BASE needs a python3 (3.11 or newer) with venv, and nothing else. A package mirror goes in as
# secrets, which no layer keeps: `--secret id=pip.conf,src=…` and, for a certificate of its own,
# `--secret id=ca.pem,src=…` (pip.conf then says `cert = /run/secrets/ca.pem`).
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
# server or cuda: which lock file of requirements/ the image holds
ARG VARIANT=server
WORKDIR /src
COPY requirements/build.txt requirements/${VARIANT}.txt requirements/
# The builder stays in /build; what runs is /opt/gradwire, and has no pip.
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf,mode=0444 \
    --mount=type=secret,id=ca.pem,target=/run/secrets/ca.pem,mode=0444 \
    python3 -m venv /build \
    && python3 -m venv --without-pip /opt/gradwire \
    && /build/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt \
    && /build/bin/pip --python /opt/gradwire/bin/python install --no-cache-dir --only-binary :all: \
        --require-hashes -r requirements/${VARIANT}.txt
COPY pyproject.toml README.md LICENSE ./
COPY engine engine
COPY service service
COPY clients/python clients/python
# Bytecode is compiled here, as the root file system may be read-only where it runs.
RUN /build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /build/bin/pip --python /opt/gradwire/bin/python install --no-deps --no-index /wheels/*.whl \
    && /opt/gradwire/bin/python -m compileall -q -j 0 /opt/gradwire/lib

FROM ${BASE}
LABEL org.opencontainers.image.title="gradwire" \
    org.opencontainers.image.description="Autograd as a service" \
    org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 10001 gradwire \
    && useradd --uid 10001 --gid gradwire --no-create-home --home-dir /data \
        --shell /usr/sbin/nologin gradwire \
    && install --directory --owner gradwire --group gradwire /data
COPY --from=build /opt/gradwire /opt/gradwire
COPY deploy/healthcheck.py /opt/gradwire/healthcheck.py
# The two NVIDIA settings ask its container runtime for the driver; without a GPU they mean nothing.
ENV PATH=/opt/gradwire/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /data
VOLUME /data
USER gradwire
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python3", "/opt/gradwire/healthcheck.py"]
# Keys decide who gets in: `-e GRADWIRE_KEYS=…`, or `-e GRADWIRE_INSECURE=true` where the port is
# published to this machine only. With neither the server refuses to start, and says so.
ENTRYPOINT ["gradwire"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
