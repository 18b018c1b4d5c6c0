// Package terminal makes untrusted text safe to print on a terminal, and recognises terminals.
package terminal
