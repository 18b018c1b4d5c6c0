// Package preferences implements `hub settings`, which reads and changes the settings of a running hub.
package preferences
