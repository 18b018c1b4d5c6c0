// Command hub is the Everdesk server and its command-line client. Run `hub help` for its use.
//
// It wires: it reads the settings, opens the store, starts the gateway and
// stops them in the right order. It is the only place that knows every package,
// and nothing imports it.
//
// A setting is declared once, in [settings]; its flag, its variable, its key in
// the file, its line in `hub config` and its help all come from there.
//
// When it is told to stop (SIGINT, SIGTERM) it first says not ready, then lets
// running requests end for the grace period, then closes the store. A second
// signal ends it on the spot, which costs nothing that the store has confirmed.
//
// It refuses to start on any mistake in its settings, and names all of them.
package main
