# The app for a class: no root, a file system that may be read-only, compiled functions and kept work in volumes. The
# first start compiles, for half a minute.
# The digest could not be looked up where this was written. `docker buildx imagetools inspect python:3.11-slim` prints it;
# write it behind the name: python:3.11-slim@sha256:...
FROM python:3.11-slim

RUN apt-get update \
    && apt-get install -y --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --home-dir /home/app --shell /usr/sbin/nologin app \
    && install -d -o app -g app /var/lib/mkl-explorer /var/cache/mkl-explorer

WORKDIR /srv/mkl-explorer
COPY requirements.lock ./
RUN pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE app.py ./
COPY .ci/building.py .ci/building.py
COPY .streamlit .streamlit
COPY mklcore mklcore
COPY pages pages
COPY sample_data sample_data
RUN pip install --no-cache-dir --no-deps --no-build-isolation -e . && python -m compileall -q mklcore pages app.py

USER app
ENV MKL_EXPLORER_HOME=/var/lib/mkl-explorer \
    NUMBA_CACHE_DIR=/var/cache/mkl-explorer \
    OPENBLAS_NUM_THREADS=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_HEADLESS=true \
    STREAMLIT_SERVER_FILE_WATCHER_TYPE=none
VOLUME ["/var/lib/mkl-explorer", "/var/cache/mkl-explorer"]
EXPOSE 8501
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4).read()"]
CMD ["streamlit", "run", "app.py", "--server.port=8501"]
