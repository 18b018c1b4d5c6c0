// Package prices holds the list prices of known models and computes what the use of a model costs.
//
// [Shipped] returns the table that is part of the program; [AsOf] is its date. A user may set other
// prices in a model profile, with contracts and discounts that no table knows.
//
// A price that is not in the table is unknown, and so is the cost. Unknown is never zero: a limit on
// costs must not treat an unknown model as a free one. A name matches an entry if it is the same, or
// the same with an edition as suffix, such as a date, or with the vendor as prefix, as gateways write
// it. Any other suffix may be another model with another price: gpt-5-pro costs twelve times as much
// as gpt-5.
//
// The package keeps nothing and is safe for concurrent use.
package prices
