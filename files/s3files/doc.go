// Package s3files keeps the files of sessions in a bucket of an S3 server, so that replicas need no
// shared folder.
//
// An object has the key PREFIX/SESSION/AREA/NAME. Objects are written with one request, so they are there
// as a whole or not at all, whenever the hub or the server dies. Conditions are those of the server
// (If-Match, If-None-Match), so they hold between replicas, too. [Open] refuses a server that ignores them.
// Moving is copying, then deleting: S3 knows no renaming.
//
// [Backend] is safe for concurrent use and starts no goroutines that outlive a call.
package s3files
