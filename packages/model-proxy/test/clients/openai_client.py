"""Sends requests with OpenAI's SDK for Python, and prints the results as JSON. Arguments: base URL, model."""

import json
import sys

import openai


def main():
    base_url, model = sys.argv[1:]
    client = openai.OpenAI(base_url=base_url, api_key="anything", max_retries=0)
    messages = [{"role": "user", "content": "three small words"}]
    answer = client.chat.completions.create(model=model, messages=messages)
    stream = client.chat.completions.create(
        model=model, messages=messages, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    completion = client.completions.create(model=model, prompt="three small words")
    embeddings = client.embeddings.create(model=model, input=["one", "two"])
    try:
        client.chat.completions.create(model="nothing", messages=messages)
        error = None
    except openai.BadRequestError as raised:
        error = {"status": raised.status_code, "code": raised.code, "param": raised.param}
    print(
        json.dumps(
            {
                "answer": answer.choices[0].message.content,
                "model": answer.model,
                "tokens": answer.usage.total_tokens,
                "stream": "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices),
                "streamTokens": chunks[-1].usage.total_tokens,
                "completion": completion.choices[0].text,
                "embeddings": [len(row.embedding) > 0 for row in embeddings.data],
                "models": [row.id for row in client.models.list()],
                "error": error,
            }
        )
    )


main()
