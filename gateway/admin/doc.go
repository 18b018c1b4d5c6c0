// Package admin serves the admin API: views of all sessions and replicas, logs of sessions,
// live streams, actions and the audit log.
//
// The roles admin:read, admin:act and admin:content allow reading, acting and seeing texts;
// none of them opens a session. An action is in the audit log before it is executed, and is
// executed once per Idempotency-Key, through whichever replica the request comes ([Actions]).
// It goes on after its client has disconnected, until its outcome is known and recorded. When
// the store is unavailable, it is repeated with a backoff.
//
// A stream is no tab, and sessions do not see it. A replica has at most 32 streams. The
// server closes one that does not accept an event for 10 s, and one whose credential has
// ended within 2 s.
package admin
