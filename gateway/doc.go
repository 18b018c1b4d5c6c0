// Package gateway serves HTTP for one hub process: WebSocket, Server-Sent Events, REST,
// the pages and the admin API.
//
// It owns the HTTP servers, their routes and timeouts, and the form of every error
// response: problem documents (RFC 9457), also for unknown paths, wrong methods and
// panics. It authenticates requests and decides what a user may do in a session; package
// session does the rest. The packages below it have the handlers: rest, admin and ws. Each
// returns its routes, from which the router and the API description (openapi) are made:
//
//	/                 the desktop, or the sign-in page for unauthenticated browsers
//	/join             the desktop, for a device that was invited
//	/ws/{session}     WebSocket, native dialect
//	/ws               WebSocket, desktop dialect
//	/api/…            REST and Server-Sent Events; /api/openapi.json describes it
//	/api/admin/…      the admin API, with Server-Sent Events for changes; 404 without
//	                  an admin role
//	/admin            the admin page
//	/metrics          Prometheus metrics
//	/health, /healthz liveness: the process is up
//	/readyz           readiness: the store answers and the hub does not drain
//
// Code that agents write runs in frames of another origin, that of the apps: a second
// listener ([Server.SetAppsListener]) or another host name ([Config].AppsURL) that serves a
// few files and nothing else. That origin ignores cookies, and every response has a
// content security policy that gives its document neither an origin nor a network. Such
// policies cannot name an IPv6 address: a hub reached under one has no apps without
// AppsURL.
//
// The admin endpoints may have a listener of their own ([Config].SeparateAdmin and
// [Server.SetAdminListener]). The main listener then has none of them, /metrics needs no
// credential, and admins that may act also get the runtime profiles. The roles admin:read,
// admin:act and admin:content allow reading, acting and seeing texts; none of them opens a
// session. An admin stream is no tab, and sessions do not see it. A replica has at most 32
// admin streams. The server closes one that does not accept an event for 10 s, and one
// whose credential has ended within 2 s.
//
// Every request passes the same checks in the same order: Host, Origin, authentication,
// rate limit, access to the session. Host and Origin are checked before any lookup. A
// missing session and one that the user may not see get the same response, byte for byte.
//
// cmd/hub builds one [Server], passes it a listener and stops it. All methods are safe for
// concurrent use.
//
// When the store is slow, /readyz and the sign-in page report not ready after
// [Config].ReadyTimeout; other requests wait up to 20 s for their session and then return
// 504. When many clients connect at once, at most 24 of them use the store at a time, each
// for at most 250 ms. The server's timeouts close the connection of a slow client; file
// transfers have 10 min. [Server.Drain] makes /readyz return 503 and refuses streaming
// clients until [Server.Undrain]; it closes the admin streams, which may reconnect. Once
// the hub hands its sessions over, requests that need to open a session are refused with
// the advice to use another replica, and all others are still served.
// [Server.DisconnectAll] sends the connected clients to other replicas; [Server.Shutdown]
// does so too and waits for running requests. A panic ends its request or connection only.
//
// An admin action is in the audit log before it is executed, and is executed once per
// Idempotency-Key, through whichever replica the request comes.
//
// The gateway refuses unknown hosts and origins, cookies without an origin, and bodies that
// are too large, compressed, not JSON where JSON is expected, or not as described. It does
// not show unauthenticated clients why the store is unavailable: the reason goes to the
// log, which contains no bodies, queries or credentials. Uploaded files are served so that
// they cannot run as script on the hub's origin.
package gateway
