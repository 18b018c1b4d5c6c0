// Package engines compares candidates for the engine of the embedded store: the store itself, its
// log alone, bbolt and Pebble, all with the workload of the project: 64 sessions that each commit batches of 16 events of 256 bytes
// and two fields of a table, into a log of 10,000 events.
//
// It is a separate module, so that the other engines are no dependencies of the product.
// docs/adr/0002-file-store-engine.md has the figures and the decision. Run it on an idle machine;
// it stops at the first error.
package engines
