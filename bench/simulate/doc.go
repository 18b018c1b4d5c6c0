//go:build linux

// Command simulate is a model of a size that one machine cannot run: by default a
// hundred hubs and a hundred thousand sessions on one Redis or several. It says
// how long sessions are without an owner when something happens to hubs, Redis or
// the load balancer, and how much of that Redis can take.
//
//	go run ./bench/simulate all
//	go run ./bench/simulate --masters 3 --streaming 0.02 steady failover-10s
//	go run ./bench/simulate measure > bench/simulate/costs.json
//	go run ./bench/simulate validate
//
// # What it owns
//
// A queue of events in model time, chance from a seed, and the rules of the
// product written down once more: who renews, claims, follows, sweeps and comes
// back when. Times and limits are the product's own and a test compares them with
// its source. What an operation costs Redis is not assumed but measured with the
// real store, by the subcommand measure, and kept in costs.json. A master is one
// queue that serves one call at a time.
//
// The same seed and settings give the same figures. The subcommand validate runs
// three real hubs with 300 sessions and fails when Redis counts other things than
// the model says.
//
// # Who may call it
//
// People, and whoever writes docs/SCALE.md. The model runs in one goroutine.
//
// # When it is slow or stops
//
// A scenario of the default size takes some ten seconds, measure a minute or two
// and validate one. Interrupting the command ends its children.
//
// # What it refuses
//
// Settings that make no sense, and a table of costs in which one is missing.
package main
