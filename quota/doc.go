// Package quota counts: it says when somebody has done something too often.
//
// It owns the rate limits at the door: connects per user (shared over replicas
// through the store) and per address, messages per connection.
package quota
