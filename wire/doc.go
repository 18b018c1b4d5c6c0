// Package wire says what may be said: the ids, the envelope, every event of
// the protocol with its payload, and the error codes.
package wire
