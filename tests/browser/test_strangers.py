"""What a real browser shows of the app to those it is not for: a page around it shows nothing, a file too many a
sentence.
"""

import http.client
import http.server
import threading
from contextlib import contextmanager
from pathlib import PurePosixPath
from urllib.parse import urlparse

from tests.browser.steps import table, upload


@contextmanager
def page_around(url):
    """A server at another port of the loopback address whose page shows ``url`` in a frame; its address."""

    class Around(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f'<h2>around</h2><iframe src="{url}" width=900 height=600></iframe>'.encode())

        def log_message(self, *_):
            pass

    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Around)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{other.server_port}/"
    finally:
        other.shutdown()
        other.server_close()


def test_a_page_at_another_port_shows_nothing_of_the_app_in_its_frame(server, visit):
    with page_around(server.url) as there:
        visitor = visit(there)
        with visitor.page.expect_console_message(lambda message: "frame-ancestors" in message.text):
            visitor.page.goto(there)
        assert visitor.page.get_by_role("heading", name="around").is_visible()
        (frame,) = visitor.page.main_frame.child_frames
        assert frame.locator("[data-testid=stApp], h1").count() == 0
        assert "MKL" not in frame.locator("body").inner_text()


def test_a_file_that_is_refused_is_reported_on_the_page(server, visit):
    """Others of the same tab are under way: two of nearly all a tab may send, and a small one."""
    visitor = visit(server.url)
    visitor.open("data?widths=1&each=none&degree=0")
    with visitor.page.expect_request(lambda request: "/_stcore/upload_file/" in request.url) as sent:
        upload(visitor, table(seed=3))
    place = PurePosixPath(urlparse(sent.value.url).path).parent
    (cookie,) = (one["value"] for one in visitor.context.cookies() if one["name"] == "_streamlit_xsrf")
    lines = [http.client.HTTPConnection(urlparse(server.url).netloc) for _ in range(3)]
    try:
        for line, size in zip(lines, (104_800_000, 104_800_000, 399_000), strict=True):
            line.putrequest("PUT", f"{place}/{size}")
            line.putheader("Content-Length", str(size))
            line.putheader("Content-Type", "multipart/form-data; boundary=b")
            line.putheader("Cookie", f"_streamlit_xsrf={cookie}")
            line.putheader("X-Xsrftoken", cookie)
            line.endheaders(b"--b\r\n")
        upload(visitor, table(seed=4))
        reported = visitor.page.get_by_text("this tab is sending 210 MB already")
        reported.wait_for()
        assert "Wait until they are there, then choose the file again." in reported.inner_text()
        assert not visitor.errors
    finally:
        for line in lines:
            line.close()
