// Package turntext keeps the text of a turn as far as it was passed on, and finds what each piece in the
// log adds to it. Pieces have offsets in UTF-16 units, as the protocol counts them, and may repeat or,
// after a failover of the store, replace what came before.
package turntext
