"""Generated requests, from the server's own schema."""

import shutil

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from lass.studio.app import openapi_schema
from studio_server import studio, wait_until_ready

CHECKS = [
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.response_schema_conformance,
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
]


@pytest.fixture(scope="module")
def served(packages, tmp_path_factory):
    folder = shutil.copytree(packages, tmp_path_factory.mktemp("fuzzed") / "packages")
    with studio(folder) as running, running.client() as client:
        wait_until_ready(client)
        yield running


schema = schemathesis.openapi.from_dict(openapi_schema()).exclude(path="/api/events")  # which never ends


@schema.parametrize()
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_breaks_the_server(case, served):
    headers = {"Authorization": f"Bearer {served.token}"}
    case.call_and_validate(base_url=served.base, headers=headers, checks=CHECKS)
