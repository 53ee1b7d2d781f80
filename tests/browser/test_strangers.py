"""A file too many is refused in a sentence on the page, seen in a real browser."""

import http.client
from pathlib import PurePosixPath
from urllib.parse import urlparse

from tests.browser.known import prices
from tests.browser.steps import upload


def test_a_file_that_is_refused_is_reported_on_the_page(server, visit):
    """Others of the same tab are under way: two of nearly all a tab may send, and a small one."""
    visitor = visit(server.url)
    visitor.open("data?widths=1&each=none&degree=0")
    with visitor.page.expect_request(
        lambda request: "/_stcore/upload_file/" in request.url
    ) as sent:
        upload(visitor, prices(seed=3))
    place = PurePosixPath(urlparse(sent.value.url).path).parent
    (cookie,) = (
        one["value"] for one in visitor.context.cookies() if one["name"] == "_streamlit_xsrf"
    )
    lines = [http.client.HTTPConnection(urlparse(server.url).netloc) for _ in range(3)]
    try:
        for line, size in zip(lines, (104_800_000, 104_800_000, 399_000), strict=True):
            line.putrequest("PUT", f"{place}/{size}")
            line.putheader("Content-Length", str(size))
            line.putheader("Content-Type", "multipart/form-data; boundary=b")
            line.putheader("Cookie", f"_streamlit_xsrf={cookie}")
            line.putheader("X-Xsrftoken", cookie)
            line.endheaders(b"--b\r\n")
        upload(visitor, prices(seed=4))
        reported = visitor.page.get_by_text("this tab is sending 210 MB already")
        reported.wait_for()
        assert "Wait until they are there, then choose the file again." in reported.inner_text()
        assert not visitor.errors
    finally:
        for line in lines:
            line.close()
