// Command hub is the Everdesk server and its command-line client. Run `hub help` for its use.
//
// It connects the components: it reads the settings, opens the store, starts the gateway
// and stops them in the right order. It is the only package that imports all components. The
// subcommands that talk to a running hub are in packages of internal.
//
// A setting is declared once, in [settings]; its flag, its variable, its key in the file,
// its line in `hub config` and its help all derive from there.
//
// On SIGINT or SIGTERM the hub reports not ready, hands over its sessions and lets running
// requests finish, all within the grace period, and closes the store. A second signal ends it
// immediately, which loses nothing that the store has confirmed.
//
// It refuses to start if any setting is invalid, and names all mistakes.
package main
