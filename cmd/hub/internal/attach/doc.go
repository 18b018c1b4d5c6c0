// Package attach has `hub attach`, which follows a session: on a terminal in readable form, else as JSON lines.
//
// Without a session it lists the sessions.
//
// JSON lines: on stdout every event is one line with the unchanged native envelope. Other lines are
// {"type":"link","state":…,"resumed":…,"error":…,"retry_ms":…} when the connection changes
// and, with --state-hash, {"type":"state","hash":…,"message_id":…}. On stdin a line that is
// a JSON object is sent unchanged, and kept until it is answered if it has an id and the
// hub answers such messages; other lines are as on a terminal, where one that begins with a
// colon is a command and any other one is sent as USER_MESSAGE.
package attach
