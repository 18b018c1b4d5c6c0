// Package web holds the built pages of the hub: the desktop, the admin page, and the frames
// for html windows, apps and diagrams.
//
// It owns web/dist, which is embedded in the program, and how its files are sent:
// compressed if the browser accepts that, with a strong ETag, and cached permanently if the
// build has put a hash of the content into the file name. A file may have compressed
// variants beside it, name.br and name.gz; these are not served under their own names.
// Package gateway decides on policies, cookies and access.
//
// Package gateway and cmd/hub call it, from any goroutine.
//
// It never blocks: all files are in memory. Unknown names are an error; a missing folder
// is a site without files.
package web
