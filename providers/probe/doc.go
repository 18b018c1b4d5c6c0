// Package probe asks model servers what they offer: [Models] returns the list of models of a server,
// and [Test] makes one short request to a model.
//
// Both are for people who connect a model, so they answer within seconds and do not retry. Errors are
// those of the server, without the key. The caller chooses the HTTP client; that of package outbound
// is for addresses that users choose.
//
// The package keeps nothing and is safe for concurrent use.
package probe
