// Package httpio reads requests and writes responses for the handlers of the gateway: JSON
// bodies, parameters, pages of listings, and files.
//
// Bodies are decoded as strictly as frames of a WebSocket and are bounded. Large responses
// share a [Budget] of memory, because a slow client may take long to read one.
package httpio
