package openai

import "github.com/everdesk/everdesk/providers/loop"

// prices are the public list prices of early 2026 in USD per million tokens. Writing to the
// cache costs nothing more. Contracts and other service tiers are not considered.
var prices = loop.Prices{
	"gpt-5":        {Input: 1.25, Output: 10, CacheRead: 0.125},
	"gpt-5-mini":   {Input: 0.25, Output: 2, CacheRead: 0.025},
	"gpt-5-nano":   {Input: 0.05, Output: 0.4, CacheRead: 0.005},
	"gpt-4.1":      {Input: 2, Output: 8, CacheRead: 0.5},
	"gpt-4.1-mini": {Input: 0.4, Output: 1.6, CacheRead: 0.1},
	"gpt-4.1-nano": {Input: 0.1, Output: 0.4, CacheRead: 0.025},
	"gpt-4o":       {Input: 2.5, Output: 10, CacheRead: 1.25},
	"gpt-4o-mini":  {Input: 0.15, Output: 0.6, CacheRead: 0.075},
	"o3":           {Input: 2, Output: 8, CacheRead: 0.5},
	"o4-mini":      {Input: 1.1, Output: 4.4, CacheRead: 0.275},
}

// windows holds the sizes of context windows, without the output tokens.
var windows = loop.Windows{
	"gpt-5": 272_000, "gpt-5.1": 272_000, "gpt-5.2": 272_000,
	"gpt-4.1": 1_000_000, "gpt-4o": 128_000, "gpt-4-turbo": 128_000, "gpt-4": 8192,
	"o1": 200_000, "o3": 200_000, "o4": 200_000,
}
