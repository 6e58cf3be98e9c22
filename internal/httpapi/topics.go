package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lastlook/lastlook/access"
)

// TopicSettings are how a topic is looked at, judged and worded.
type TopicSettings struct {
	Kind       string   `json:"kind" enum:"callback,declared" doc:"callback: your program is asked whether it is still true; declared: a condition on what an address shows"`
	Owner      string   `json:"owner,omitempty" maxLength:"63" doc:"Whose it is; for operators: a key's topics are its owner's"`
	Channels   []string `json:"channels" minItems:"1" maxItems:"20" doc:"What it may be told through; the first is the default"`
	Window     string   `json:"window,omitempty" maxLength:"80" doc:"How often the same may be told: always (if it is left out), once, \"day Europe/Berlin\", \"every 1h\""`
	TTLSeconds int      `json:"ttl_seconds,omitzero" required:"false" minimum:"0" maximum:"31536000" doc:"When telling no longer makes sense, in seconds from the enqueue; 86400 if it is left out"`
	URL        string   `json:"url" maxLength:"4096" doc:"callback: where questions are posted; declared: what to look at, with {subject} in the place of the subject"`
	Secret     string   `json:"secret,omitempty" maxLength:"200" doc:"callback: the secret that signs questions (whsec_…); made if it is left out at first, kept if it is left out later, shown only when it is made"`
	Batch      int      `json:"batch,omitzero" required:"false" minimum:"0" maximum:"1000" doc:"callback: how many subjects one question asks about; 100 if it is left out"`

	Source  string         `json:"source,omitempty" maxLength:"32" doc:"declared: what reads the address: json (if it is left out), page, shopify, feed"`
	Options map[string]any `json:"options,omitempty" required:"false" maxProperties:"20" doc:"declared: how the source reads it, such as {\"value_path\": \".status\"}"`
	When    string         `json:"when,omitempty" maxLength:"2000" doc:"declared: tell if this condition (CEL) holds, of now and last: \"now < 100\"; whatever is seen if it is left out"`
	Title   string         `json:"title,omitempty" maxLength:"2000" doc:"declared: the message's title, with {subject}, {now}, {last}, {price}, {currency}, {availability}, {title} and {url}"`
	Body    string         `json:"body,omitempty" maxLength:"2000"`
	Link    string         `json:"link,omitempty" maxLength:"2000" doc:"declared: where a click leads; the address if it is left out"`
}

// Topic is a topic as the API shows it.
type Topic struct {
	Name string `json:"name"`
	TopicSettings
}

// TopicPath names a topic.
type TopicPath struct {
	Topic string `path:"topic" maxLength:"63" doc:"The topic's name"`
}

type (
	putTopicInput struct {
		TopicPath
		Body TopicSettings
	}
	topicOutput  struct{ Body Topic }
	topicsOutput struct {
		Body struct {
			Topics []Topic `json:"topics"`
		}
	}
)

// Topics is what the API does with topics.
type Topics interface {
	TopicsOf(ctx context.Context, who Who) ([]Topic, error)
	PutTopic(ctx context.Context, who Who, name string, s TopicSettings) (Topic, error)
	RemoveTopic(ctx context.Context, who Who, name string) error
}

func (a *API) registerTopics(api huma.API) {
	const path = "/api/v1/topics"
	list := a.allow(api, operation("list-topics", http.MethodGet, path, "List one's own topics"), keysOnly(access.ScopeRead))
	huma.Register(api, list, func(ctx context.Context, _ *struct{}) (*topicsOutput, error) {
		out := &topicsOutput{}
		var err error
		out.Body.Topics, err = a.cfg.Backend.TopicsOf(ctx, whoOf(ctx))
		return out, a.problem(ctx, err)
	})
	get := a.allow(api, operation("get-topic", http.MethodGet, path+"/{topic}", "Show a topic"), keysOnly(access.ScopeRead))
	huma.Register(api, get, func(ctx context.Context, in *TopicPath) (*topicOutput, error) {
		all, err := a.cfg.Backend.TopicsOf(ctx, whoOf(ctx))
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		for _, t := range all {
			if t.Name == in.Topic {
				return &topicOutput{t}, nil
			}
		}
		return nil, huma.Error404NotFound("there is no such topic of yours")
	})
	put := a.allow(api, operation("put-topic", http.MethodPut, path+"/{topic}", "Make or change a topic"), keysOnly(access.ScopeOperate))
	huma.Register(api, put, func(ctx context.Context, in *putTopicInput) (*topicOutput, error) {
		t, err := a.cfg.Backend.PutTopic(ctx, whoOf(ctx), in.Topic, in.Body)
		return &topicOutput{t}, a.problem(ctx, err)
	})
	remove := a.allow(api, operation("remove-topic", http.MethodDelete, path+"/{topic}", "Remove a topic; its notifications wait until they expire, or until there is one of the name again"), keysOnly(access.ScopeOperate))
	huma.Register(api, remove, func(ctx context.Context, in *TopicPath) (*struct{}, error) {
		return nil, a.problem(ctx, a.cfg.Backend.RemoveTopic(ctx, whoOf(ctx), in.Topic))
	})
}
