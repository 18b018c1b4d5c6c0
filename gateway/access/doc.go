// Package access decides who sends a request and what that user may do.
//
//   - [Hosts] knows under which names and origins the hub is reached.
//   - [Authenticator] finds the caller by a credential, guards routes, and applies the rate
//     limits of users and addresses.
//   - [Sessions] finds the session that a user means, decides which [Level] of access the user
//     has to it, and creates and deletes sessions within the limit of a user.
//
// A missing session and one that the user may not see get the same error. Sessions of one
// user are created one after the other on each replica; replicas that create one at the same
// moment agree on the oldest. All types are safe for concurrent use.
package access
