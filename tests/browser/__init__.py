import pytest

for module in ("steps", "walker"):  # before anything imports them
    pytest.register_assert_rewrite(f"tests.browser.{module}")
