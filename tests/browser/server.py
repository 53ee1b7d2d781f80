"""One run of the README's first command, on a free port, with a data folder of its own."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 300


def health(url, timeout=5.0):
    try:
        with urllib.request.urlopen(url + "/_stcore/health", timeout=timeout) as answer:
            return answer.status == 200
    except OSError:
        return False


class Server:
    """One `streamlit run app.py` of its own."""

    def __init__(self, log, port=0, **environment):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            self.port = port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
        command += ["--server.port", str(port), "--server.fileWatcherType", "none"]
        usual = {"MKL_EXPLORER_HOME": str(log.parent / "home")}
        surroundings = os.environ | usual | environment
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, env=surroundings
            )
        until = time.monotonic() + START_SECONDS
        while not health(self.url):
            over = self.process.poll() is not None
            if over or time.monotonic() > until:
                self.stop()
                what = "ended" if over else f"did not answer within {START_SECONDS} s"
                raise (RuntimeError if over else TimeoutError)(
                    f"The server {what}:\n{log.read_text()}"
                )
            time.sleep(0.1)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
