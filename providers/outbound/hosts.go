package outbound

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Hosts lists the servers that are reachable although their addresses are not public. The zero value
// lists none.
type Hosts struct {
	names    []listedName
	networks []listedNetwork
	// resolver resolves names; nil means the resolver of the system.
	resolver *net.Resolver
	// setting is the name of the list in errors; empty means defaultSetting.
	setting string
}

// listedName is a host name. Its port is 0 if every port is meant.
type listedName struct {
	name string
	port uint16
}

// listedNetwork is a network or a single address. Its port is 0 if every port is meant.
type listedNetwork struct {
	prefix netip.Prefix
	port   uint16
}

// ParseHosts reads a list of host[:port], address[:port] and prefix/bits, separated by commas.
func ParseHosts(list string) (Hosts, error) {
	var h Hosts
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		if err := h.add(item); err != nil {
			return Hosts{}, err
		}
	}
	return h, nil
}

// add adds one item of a list.
func (h *Hosts) add(item string) error {
	wrong := fmt.Errorf("%q is none of host, host:port, address, address:port and prefix/bits", item)
	if strings.Contains(item, "/") {
		prefix, err := netip.ParsePrefix(item)
		if err != nil || prefix.Masked() != prefix || prefix.Addr().Is4In6() {
			return wrong
		}
		h.networks = append(h.networks, listedNetwork{prefix, 0})
		return nil
	}
	host, port := item, uint64(0)
	if !isAddress(item) {
		if name, number, err := net.SplitHostPort(item); err == nil {
			if port, err = strconv.ParseUint(number, 10, 16); err != nil || port == 0 {
				return wrong
			}
			host = name
		}
	}
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		if a.Zone() != "" {
			return wrong
		}
		a = a.Unmap()
		h.networks = append(h.networks, listedNetwork{netip.PrefixFrom(a, a.BitLen()), uint16(port)})
		return nil
	}
	name := canonicalName(host)
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`:/@[]?#\*`, r)
	}) {
		return wrong
	}
	h.names = append(h.names, listedName{name, uint16(port)})
	return nil
}

// isAddress reports whether s is an address without a port, which may contain colons.
func isAddress(s string) bool {
	_, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return err == nil
}

// canonicalName returns a host name in the form in which names are compared.
func canonicalName(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }

// With returns the list and the servers of URLs, which the operator has configured elsewhere. It
// ignores what is no URL of a server.
func (h Hosts) With(urls ...string) Hosts {
	h.names, h.networks = slices.Clone(h.names), slices.Clone(h.networks)
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" {
			continue
		}
		_ = h.add(net.JoinHostPort(u.Hostname(), portOf(u))) // an invalid host is not reachable anyway
	}
	return h
}

// WithResolver returns the list for connections whose names r resolves instead of the system.
func (h Hosts) WithResolver(r *net.Resolver) Hosts {
	h.resolver = r
	return h
}

// WithSetting returns the list for clients whose errors name it as a setting.
func (h Hosts) WithSetting(name string) Hosts {
	h.setting = name
	return h
}

// portOf returns the port of a URL of a server.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}

// check returns why a connection to an address is refused, or nil. host is the name or the address
// that was asked for, and at is what it resolved to.
//
// A listed name covers private networks and the machine itself, because the name of an internal
// server leads there. It never covers link-local addresses and the like: its owner could point it to
// a metadata service. They have to be listed as addresses.
func (h Hosts) check(host string, at netip.AddrPort) *AddressError {
	class := Classify(at.Addr())
	if class == Public {
		return nil
	}
	plain := at.Addr().WithZone("").Unmap()
	for _, n := range h.networks {
		if n.prefix.Contains(plain) && (n.port == 0 || n.port == at.Port()) {
			return nil
		}
	}
	if class == Private || class == Loopback || class == SharedSpace {
		for _, n := range h.names {
			if n.name == canonicalName(host) && (n.port == 0 || n.port == at.Port()) {
				return nil
			}
		}
	}
	return &AddressError{Host: host, Class: class, Setting: h.setting}
}
