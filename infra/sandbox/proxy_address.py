"""Where the proxy is inside a sandbox, and how package managers are told."""

from typing import Final

PROXY_PORT: Final = 3128
"""On the sandbox's own loopback interface, where nothing else listens."""


def proxy_variables() -> dict[str, str]:
    """The variables that tell package managers of the proxy."""
    url = f"http://127.0.0.1:{PROXY_PORT}"
    names = (
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "npm_config_https_proxy",
        "npm_config_proxy",
        "PIP_PROXY",
        "CARGO_HTTP_PROXY",
    )
    local = "localhost,127.0.0.1,::1"
    return {**dict.fromkeys(names, url), "NO_PROXY": local, "no_proxy": local}
