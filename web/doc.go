// Package web holds the pages of the hub as they were built: the desktop, the monitor
// of those who look after the hubs, and the frames in which html windows, apps and
// diagrams live.
//
// It owns web/dist, which is part of the program, and how a file of it is sent:
// compressed if the browser takes that, with a strong ETag, and to be kept for ever
// when a build tool has put a hash of the content into its name. Beside a file may
// be the same compressed, as name.br and name.gz; these are not files of their own.
// Policies, cookies and who may see a page are the door's business.
//
// Who may call: the door and cmd/hub, from any goroutine.
//
// It waits for nobody: all is in memory. It refuses names it does not have; a
// folder that is not there is a site without files.
package web
