// Package files stores: the files of a session, such as uploads.
package files
