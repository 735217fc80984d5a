#include "json/schema.h"

#include "json/write.h"

void json_schema_type(struct json_writer *w, const char *type)
{
	json_put_key(w, "type");
	json_put_string(w, type);
}

void json_schema_begin(struct json_writer *w)
{
	json_object_begin(w);
	json_schema_type(w, "object");
	json_put_key(w, "properties");
	json_object_begin(w);
}

void json_schema_required(struct json_writer *w)
{
	json_object_end(w);
	json_put_key(w, "required");
	json_array_begin(w);
}

void json_schema_end(struct json_writer *w, bool open)
{
	json_array_end(w);
	json_put_key(w, "additionalProperties");
	json_put_bool(w, open);
	json_object_end(w);
}
