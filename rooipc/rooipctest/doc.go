// Package rooipctest has a client of the IPC protocol of Roo-Code that refuses what the schemas of
// @roo-code/types refuse.
package rooipctest
