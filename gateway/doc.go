// Package gateway admits: it is the HTTP door of one hub process.
//
// It owns the listener's server, its routes, its timeouts and the form of every
// answer that is not a success: problem documents (RFC 9457), also for unknown
// paths, wrong methods and panics. It decides who comes in and what they may do in
// a session; what then happens there is not its business. One table of routes
// (routes.go) is what both the router and the API description are made from:
//
//	/                 the desktop, or for strangers a page to sign in
//	/join             the desktop, for a device that was invited
//	/ws/{session}     WebSocket, native dialect
//	/ws               WebSocket, desktop dialect
//	/api/…            REST and Server-Sent Events; /api/openapi.json describes it
//	/api/admin/…      for those who look after the hub, who are the only ones to see
//	                  that it is there; with Server-Sent Events of what changes
//	/admin            their page
//	/metrics          what is measured
//	/health, /healthz the process is up
//	/readyz           the process may be sent users: the store answers, no drain
//
// What agents write runs in frames that come from another origin, the apps': a
// second listener ([Server.AppsAt]) or another name ([Config].AppsURL) with a few
// files and nothing else. No cookie is looked at there, and every answer has a
// policy that leaves its document without an origin and without a network.
// Policies cannot name a bare address of IPv6: under one there are no apps without
// AppsURL.
//
// Those who look after the hub may have a listener of their own ([Config].AdminApart
// and [Server.AdminAt]). Then nothing of theirs is at everybody's, /metrics is for
// whoever reaches it, and who may act finds the profiles of the runtime there. The
// roles admin:read, admin:act and admin:content say who of them looks, acts and sees
// texts; none of them opens a session. What they watch is no tab: nothing of a session
// knows of it. At most 32 watch a replica at once; each is given up when it does not
// read for 10 s, and its stream ends within 2 s of its credential.
//
// Every request passes the same checks in the same order: a Host that is ours, an
// Origin that may, who it is, how often they ask, what they may do with the session.
// The first two come before anything is looked up. A session that is not there and
// one that somebody may not see get the same answer, byte for byte.
//
// Who may call: cmd/hub builds one [Server], hands it a listener and stops it.
// All methods are safe to call from any goroutine.
//
// When the store is slow, /readyz and the page wait for it for
// [Config].ReadyTimeout and then say not ready; other requests wait 20 s for their
// session and then end with 504. When many clients come at once, they are let in 24
// at a time, each for a quarter of a second at most. When a client is slow, the server's timeouts end
// its connection; files have 10 min. [Server.Drain] turns /readyz to 503 and lets no
// streaming clients in until [Server.Undrain]; requests that need a session opened
// are told to ask another replica when the hub has begun to hand its sessions over,
// and all others are still served; those who watch the hub are sent away and may come
// back; [Server.Dismiss] sends those elsewhere who are there;
// [Server.Shutdown] does so and lets running requests end. A panic ends its request
// or connection.
//
// What an admin does is in the audit before it is done, and done once for its
// Idempotency-Key, through whichever replica it comes.
//
// It refuses names and origins it does not know, cookies without an origin,
// bodies that are too large, compressed, not JSON where JSON is wanted or not as
// described. It does not tell strangers why the store is away: the reason goes to
// the log, where neither bodies nor queries nor credentials are. What users upload
// is served so that it cannot run on the hub's origin.
package gateway
