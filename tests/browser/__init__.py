import pytest

pytest.register_assert_rewrite("tests.browser.steps")  # before anything imports it
