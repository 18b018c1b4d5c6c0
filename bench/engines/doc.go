// Package engines measures what could have been the embedded store's engine:
// the store itself, its log alone, bbolt and Pebble, all with the workload the
// project has: 64 sessions that each commit batches of 16 events of 256 bytes
// and two fields of a table, into a log of 10,000 events.
//
// It is a module of its own, so that the engines that were not chosen are no
// dependencies of the product. docs/adr/0002-file-store-engine.md has the
// figures and what follows from them. Run it alone on a machine; it refuses
// nothing and stops at the first error.
package engines
