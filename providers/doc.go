// Package providers answers: one interface over the backends that think.
//
// A [Provider] opens [Session]s, each one conversation with a model. A session
// runs one turn at a time; what happens in it is told as [Event]s, in order, to
// [Spec.Hear]. The hub keeps the conversation itself: a backend that has no
// memory of its own tells what to remember with [EventRemember], and is given it
// back in [Spec.From] when the conversation goes on elsewhere.
//
// Who may call: a provider from any goroutine; the methods of one session from
// any goroutine too. Hear is called by one goroutine at a time and may take its
// time: a backend that must not be kept waiting puts a queue in between.
//
// When a backend is slow, its turn is; nobody else's. When it fails, the turn
// ends with a [*Failure] that says what kind of trouble it is and when to try
// again. Package providertest is the contract as a test that every backend
// passes.
//
// What is sent to a model begins with the user, alternates, and has every call of a
// tool followed by its result. [Check] is the one place that says so, and every
// backend that sends a conversation calls it last: what does not pass is not sent,
// and the turn fails as [Invalid]. [Mended] makes any conversation pass.
//
// A [Table] holds the providers of a hub by name, keeps those warm that take a
// while to start, tries again when that does not work and says so. It refuses two
// of one name. Nothing registers itself: cmd/hub names what there is.
package providers
