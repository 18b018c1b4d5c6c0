package outbound_test

import (
	"net/netip"
	"testing"

	"github.com/everdesk/everdesk/providers/outbound"
)

func TestClassesOfAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]outbound.Class{
		"8.8.8.8": outbound.Public, "160.79.104.10": outbound.Public, "2606:4700::6812:1": outbound.Public, "2a00:1450:4001::1": outbound.Public,
		"172.15.255.255": outbound.Public, "172.32.0.0": outbound.Public, "100.63.255.255": outbound.Public, "100.128.0.0": outbound.Public,
		"127.0.0.1": outbound.Loopback, "127.255.255.254": outbound.Loopback, "::1": outbound.Loopback,
		"10.1.2.3": outbound.Private, "172.16.0.1": outbound.Private, "172.31.255.255": outbound.Private, "192.168.1.1": outbound.Private,
		"198.18.0.1": outbound.Private, "fd12:3456::1": outbound.Private, "fec0::1": outbound.Private,
		"169.254.1.1": outbound.LinkLocal, "fe80::1": outbound.LinkLocal, "fe80::1%eth0": outbound.LinkLocal,
		"169.254.169.254": outbound.Metadata, "169.254.170.2": outbound.Metadata, "100.100.100.200": outbound.Metadata,
		"168.63.129.16": outbound.Metadata, "192.0.0.192": outbound.Metadata, "fd00:ec2::254": outbound.Metadata,
		"100.64.0.1": outbound.SharedSpace, "100.127.255.255": outbound.SharedSpace,
		"224.0.0.1": outbound.Multicast, "239.255.255.255": outbound.Multicast, "ff02::1": outbound.Multicast,
		"0.0.0.0": outbound.Unspecified, "0.1.2.3": outbound.Unspecified, "::": outbound.Unspecified,
		"240.0.0.1": outbound.Reserved, "192.0.2.1": outbound.Reserved, "198.51.100.1": outbound.Reserved, "203.0.113.9": outbound.Reserved,
		"2001:db8::1": outbound.Reserved, "2001::1": outbound.Reserved, "2002:7f00:1::": outbound.Reserved, "::127.0.0.1": outbound.Reserved,
		// IPv4 addresses in IPv6 form never pass, not even public ones.
		"::ffff:127.0.0.1": outbound.Reserved, "::ffff:8.8.8.8": outbound.Reserved, "::ffff:169.254.169.254": outbound.Reserved,
		// A translator presents IPv4 addresses, which keep their class.
		"64:ff9b::8.8.8.8": outbound.Public, "64:ff9b::127.0.0.1": outbound.Loopback, "64:ff9b::169.254.169.254": outbound.Metadata,
		"64:ff9b:1::8.8.8.8": outbound.Reserved,
	} {
		if got := outbound.Classify(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
	if got := outbound.Classify(netip.Addr{}); got != outbound.Reserved {
		t.Errorf("no address is %s, want %s", got, outbound.Reserved)
	}
}

// A public address is one that the standard library sees as global and not private, in whatever form
// the address came.
func FuzzClassify(f *testing.F) {
	for _, seed := range []string{"8.8.8.8", "127.0.0.1", "::1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "fe80::1%lo", "2002:7f00:1::"} {
		b, _ := netip.MustParseAddr(seed).MarshalBinary()
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var a netip.Addr
		if a.UnmarshalBinary(b) != nil {
			return
		}
		class := outbound.Classify(a)
		if class == "" {
			t.Fatalf("%s has no class", a)
		}
		if without := outbound.Classify(a.WithZone("")); without != class {
			t.Errorf("%s is %s with its zone and %s without", a, class, without)
		}
		if class != outbound.Public {
			return
		}
		if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || a.Is4In6() {
			t.Errorf("%s is public, want another class", a)
		}
	})
}
