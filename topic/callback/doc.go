// Package callback makes topics that others judge: lastlook asks a program of
// theirs, in any language, whether something is still true.
//
// Before a message is sent, and at each retry, the program's address gets a POST
// that is signed as Standard Webhooks describes it (webhook-id,
// webhook-timestamp, webhook-signature). One question asks about many subjects:
//
//	{"type":"lastlook.question","timestamp":"2026-12-01T10:00:00Z",
//	 "data":{"topic":"order_late","subjects":["o-17","o-18","o-19"]}}
//
// and is answered per subject, in any order, with status 200:
//
//	{"answers":[
//	  {"subject":"o-17","verdict":"send","value":{"late_minutes":40},
//	   "message":{"title":"Order o-17 is 40 minutes late","url":"https://shop.example/o/17"}},
//	  {"subject":"o-18","verdict":"drop","reason":"condition_lost"},
//	  {"subject":"o-19","verdict":"defer","after_seconds":120}]}
//
// send tells the message, which asserts the value; drop withholds it, with a
// reason (condition_lost if there is none); defer asks again later. A subject
// without an answer, or with one that cannot be understood, is unknown: nothing
// is sent and nothing dropped, and it is asked about again. So is all of a
// question that fails or is answered with another status; Retry-After is obeyed.
package callback
