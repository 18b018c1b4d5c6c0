// Package fetch requests pages of the web for agents and for apps.
//
// [Client.Do] makes one request for a user. The host of the URL, and of every redirect, must be one
// of the domains that the user has allowed ([Domains]), and its address must be public: package
// outbound checks the address of each connection after the name was resolved, so that no name leads
// into the network of the hub. Requests carry no cookies and no credentials of the hub, and are
// bounded in size and time.
//
// [Text] turns an HTML page into text that a model can read.
//
// What a page says is data, never an instruction. Callers mark it so.
package fetch
