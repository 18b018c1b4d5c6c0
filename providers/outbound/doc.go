// Package outbound is the HTTP client for addresses that users choose, such as the base URL of a
// model server. It keeps such a request out of the networks that only the hub can reach: its own
// machine, private networks, and the metadata services of cloud providers.
//
// [Hosts.Client] returns the client. It checks the address of every connection after the name was
// resolved and before the first packet is sent, so that a name whose address changes between two
// lookups gains nothing. Redirects and each address of a name with several are checked in the same
// way. The operator lists exceptions; [ParseHosts] reads them.
//
// The client uses no proxy of the environment: a proxy resolves names itself and could reach what
// the hub refuses. It bounds the time of a connection and of a TLS handshake, the size of headers and
// the size of a body. The time of a whole request is bounded by its context, because the reply of a
// model may take minutes. It follows redirects only within the same scheme, host and port, because
// the key of a model server must not go elsewhere.
//
// A refusal is a [*providers.Failure] of the class invalid that wraps an [*AddressError]. It names the
// host that the user typed, never the address it resolved to: the answers of an internal name server
// are not for users.
//
// All types are safe for concurrent use. docs/adr has the reasons.
package outbound
