// Package rest serves the REST API for users: sessions, messages, rows, plans, files,
// settings, signing in, tickets and keys.
//
// Every handler checks the caller's access to the session before anything else. A handler
// waits up to 20 s for a session and then returns 504; file transfers have 10 min. Changes
// that admins make in sessions of other users are audited. Uploaded files are served so that
// they cannot run as scripts on the hub's origin.
package rest
