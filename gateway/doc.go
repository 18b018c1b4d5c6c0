// Package gateway admits: it is the HTTP door of one hub process.
//
// It owns the listener's server, its routes, its timeouts and the form of every
// answer that is not a success: problem documents (RFC 9457), also for unknown
// paths, wrong methods and panics. For now the routes are those that operators
// and load balancers need:
//
//	GET /         a status page for people
//	GET /health   {"status":"ok"}, the question existing desktops ask
//	GET /healthz  the process is up
//	GET /readyz   the process may be sent users: the store answers, no drain
//
// Who may call: cmd/hub builds one [Server], hands it a listener and stops it.
// All methods are safe to call from any goroutine.
//
// When the store is slow, /readyz and the status page wait for it for
// [Config].ReadyTimeout and then say not ready; nothing else here asks the store.
// When a client is slow, the server's timeouts end its connection. [Server.Drain]
// turns /readyz to 503 while everything else is still served;
// [Server.Shutdown] then lets running requests end.
//
// It refuses to tell strangers why the store is away: the reason goes to the
// log, the answer only says that it is so.
package gateway
