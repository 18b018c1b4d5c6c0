// Package workspaces keeps which folder the agents of a session work in, if they are programs.
//
// The operator allows folders. A session may choose one of them, or a folder in one of them. A path
// is resolved before it is compared, when it is chosen and each time that it is used, so a link never
// leads out of the allowed folders. Choices are documents of the store, which all replicas see.
package workspaces
