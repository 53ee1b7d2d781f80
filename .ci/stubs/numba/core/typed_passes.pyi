from typing import Any

class NativeLowering:
    def run_pass(self, state: Any) -> bool: ...
