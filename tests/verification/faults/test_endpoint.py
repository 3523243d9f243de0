from amaranth.hdl import Fragment

from rtl.link.endpoint import LinkEndpoint
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters
from verification.faults.endpoint import OneChannelEndpoint


def ports(component):
    """Direction and width of each, by its name without the numbers of arrays."""
    return {
        "__".join(str(part) for part in path if not isinstance(part, int)): (
            member.flow,
            len(value.as_value()) if hasattr(value, "as_value") else len(value),
        )
        for path, member, value in component.signature.flatten(component)
    }


def test_one_channel_has_the_ports_of_an_endpoint():
    p, link = T3Parameters(contexts=2), LinkParameters(contexts=2)
    one = OneChannelEndpoint(p, link)
    assert ports(one) == ports(LinkEndpoint(p, link))
    Fragment.get(one, None)  # connects them
