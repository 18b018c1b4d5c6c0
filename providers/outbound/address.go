package outbound

import "net/netip"

// Class classifies an address by the network it belongs to.
type Class string

// Classes of addresses. Only those of the class Public are reachable without being listed.
const (
	Public      Class = "public"
	Loopback    Class = "loopback"
	Private     Class = "private"
	LinkLocal   Class = "link-local"
	SharedSpace Class = "shared"      // the addresses that providers share among customers (CGNAT)
	Metadata    Class = "metadata"    // a metadata service of a cloud provider
	Multicast   Class = "multicast"   // and broadcast
	Unspecified Class = "unspecified" // means the machine itself
	Reserved    Class = "reserved"    // no server on the internet has such an address
)

// network is a prefix with its class.
type network struct {
	prefix netip.Prefix
	class  Class
}

// networks lists the addresses that are not public, by the registries of IANA for special purposes.
// The first match counts, so single metadata services precede the networks that contain them.
var networks = []network{
	{netip.MustParsePrefix("169.254.169.254/32"), Metadata},
	{netip.MustParsePrefix("169.254.170.2/32"), Metadata},
	{netip.MustParsePrefix("100.100.100.200/32"), Metadata},
	{netip.MustParsePrefix("168.63.129.16/32"), Metadata},
	{netip.MustParsePrefix("192.0.0.192/32"), Metadata},
	{netip.MustParsePrefix("fd00:ec2::/32"), Metadata},
	{netip.MustParsePrefix("fd20:ce::254/128"), Metadata},

	{netip.MustParsePrefix("0.0.0.0/8"), Unspecified},
	{netip.MustParsePrefix("10.0.0.0/8"), Private},
	{netip.MustParsePrefix("100.64.0.0/10"), SharedSpace},
	{netip.MustParsePrefix("127.0.0.0/8"), Loopback},
	{netip.MustParsePrefix("169.254.0.0/16"), LinkLocal},
	{netip.MustParsePrefix("172.16.0.0/12"), Private},
	{netip.MustParsePrefix("192.0.0.0/24"), Reserved},
	{netip.MustParsePrefix("192.0.2.0/24"), Reserved},
	{netip.MustParsePrefix("192.88.99.0/24"), Reserved},
	{netip.MustParsePrefix("192.168.0.0/16"), Private},
	{netip.MustParsePrefix("198.18.0.0/15"), Private},
	{netip.MustParsePrefix("198.51.100.0/24"), Reserved},
	{netip.MustParsePrefix("203.0.113.0/24"), Reserved},
	{netip.MustParsePrefix("224.0.0.0/4"), Multicast},
	{netip.MustParsePrefix("255.255.255.255/32"), Multicast},
	{netip.MustParsePrefix("240.0.0.0/4"), Reserved},

	{netip.MustParsePrefix("::/128"), Unspecified},
	{netip.MustParsePrefix("::1/128"), Loopback},
	{netip.MustParsePrefix("fc00::/7"), Private},
	{netip.MustParsePrefix("fe80::/10"), LinkLocal},
	{netip.MustParsePrefix("fec0::/10"), Private},
	{netip.MustParsePrefix("ff00::/8"), Multicast},
	{netip.MustParsePrefix("2001::/23"), Reserved}, // Teredo, which embeds IPv4 addresses, and protocols
	{netip.MustParsePrefix("2001:db8::/32"), Reserved},
	{netip.MustParsePrefix("2002::/16"), Reserved}, // 6to4 embeds IPv4 addresses
	{netip.MustParsePrefix("3fff::/20"), Reserved},
	{netip.MustParsePrefix("2000::/3"), Public},
	{netip.MustParsePrefix("::/0"), Reserved}, // IPv4-mapped addresses among them
}

// translated is the network in which a translator of IPv6-only networks presents IPv4 addresses.
var translated = netip.MustParsePrefix("64:ff9b::/96")

// Classify returns the class of an address. An invalid address is reserved.
func Classify(a netip.Addr) Class {
	a = a.WithZone("")
	if translated.Contains(a) {
		b := a.As16()
		return Classify(netip.AddrFrom4([4]byte(b[12:])))
	}
	for _, n := range networks {
		if n.prefix.Contains(a) {
			return n.class
		}
	}
	if a.Is4() {
		return Public
	}
	return Reserved
}
