/*
 * genie_value_time.c
 *	  Dates, timestamps, times and intervals as bytes, and the text of some of them.
 *
 *		date, timestamp[tz]		the day's number, 0 for 2000-01-01, by genie_key_put_int(); then, unless it is
 *								midnight, the microseconds of the day, 5 bytes big-endian; in UTC.
 *								-infinity is the byte 0x00 and infinity is 0xFF; no day begins with either.
 *		time					the microseconds of the day, 5 bytes big-endian
 *		timetz					the microseconds in UTC, then the zone in seconds west of Greenwich, both by
 *								genie_key_put_int(); this is PostgreSQL's order
 *		interval				days, 30 for each month, and microseconds of a day, laid out like a timestamp;
 *								this is PostgreSQL's order and equality: '1 month' = '30 days'
 *
 * So a date equals the timestamp of its midnight.
 *
 * The text is ISO 8601 whatever DateStyle is, with " BC" after years before 1.  It is parsed here, because PostgreSQL's
 * input functions depend on DateStyle and accept "now" and "tomorrow".
 */
#include "postgres.h"

#include <ctype.h>

#include "datatype/timestamp.h"
#include "genie_value_bytes.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#define MINUS_INFINITY_BYTE 0x00
#define INFINITY_BYTE		0xFF
#define DAY_TIME_BYTES		5	/* hold the microseconds of a day */

/* bound of an interval's days, with months and hours converted */
#define INTERVAL_DAYS_MAX	(INT64CONST(31) * INT32_MAX + PG_INT64_MAX / USECS_PER_DAY + 32)

static uint32
put_day(uint8 *out, int64 day, int64 time)
{
	uint32		n = genie_key_put_int(out, day);

	if (time != 0)
		n += genie_value_put_uint(out + n, time, DAY_TIME_BYTES);
	return n;
}

/* Reads a day and the time of the day; false: put_day() does not write such bytes. */
static bool
get_day(const uint8 *data, uint32 len, int64 *day, int64 *time)
{
	size_t		n = genie_key_get_int(data, len, day);

	*time = 0;
	if (n == 0)
		return false;
	if (n == len)
		return true;
	if (len - n != DAY_TIME_BYTES)
		return false;
	*time = genie_value_get_uint(data + n, DAY_TIME_BYTES);
	return *time > 0 && *time < USECS_PER_DAY;
}

static uint32
put_infinity(uint8 *out, bool negative)
{
	out[0] = negative ? MINUS_INFINITY_BYTE : INFINITY_BYTE;
	return 1;
}

/* Splits microseconds into whole days, rounded down, which it returns, and the rest. */
static int64
split_days(int64 *time)
{
	int64		days = *time / USECS_PER_DAY;

	*time %= USECS_PER_DAY;
	if (*time < 0)
	{
		*time += USECS_PER_DAY;
		days--;
	}
	return days;
}

uint32
genie_value_put_date(uint8 *out, Datum value)
{
	DateADT		date = DatumGetDateADT(value);

	if (DATE_NOT_FINITE(date))
		return put_infinity(out, DATE_IS_NOBEGIN(date));
	return put_day(out, date, 0);
}

uint32
genie_value_put_timestamp(uint8 *out, Datum value)
{
	int64		time = DatumGetTimestamp(value);
	int64		day;

	if (TIMESTAMP_NOT_FINITE(time))
		return put_infinity(out, TIMESTAMP_IS_NOBEGIN(time));
	day = split_days(&time);
	return put_day(out, day, time);
}

uint32
genie_value_put_time(uint8 *out, Datum value)
{
	return genie_value_put_uint(out, DatumGetTimeADT(value), DAY_TIME_BYTES);
}

uint32
genie_value_put_timetz(uint8 *out, Datum value)
{
	TimeTzADT  *time = DatumGetTimeTzADTP(value);
	uint32		n = genie_key_put_int(out, time->time + time->zone * USECS_PER_SEC);

	return n + genie_key_put_int(out + n, time->zone);
}

uint32
genie_value_put_interval(uint8 *out, Datum value)
{
	Interval   *interval = DatumGetIntervalP(value);
	int64		time = interval->time;
	int64		days = split_days(&time);

	return put_day(out, days + interval->day + interval->month * INT64CONST(30), time);
}

bool
genie_value_timestamp_valid(const uint8 *data, uint32 len)
{
	int64		day;
	int64		time;

	if (len == 1 && (data[0] == MINUS_INFINITY_BYTE || data[0] == INFINITY_BYTE))
		return true;
	return get_day(data, len, &day, &time) && IS_VALID_DATE(day);
}

bool
genie_value_time_valid(const uint8 *data, uint32 len)
{
	return len == DAY_TIME_BYTES && genie_value_get_uint(data, len) <= USECS_PER_DAY;
}

bool
genie_value_timetz_valid(const uint8 *data, uint32 len)
{
	int64		time;
	int64		zone;
	size_t		n = genie_key_get_int(data, len, &time);

	if (n == 0 || n + genie_key_get_int(data + n, len - n, &zone) != len || n == len)
		return false;
	if (zone <= -TZDISP_LIMIT || zone >= TZDISP_LIMIT)
		return false;
	return time >= zone * USECS_PER_SEC && time <= USECS_PER_DAY + zone * USECS_PER_SEC;
}

bool
genie_value_interval_valid(const uint8 *data, uint32 len)
{
	int64		days;
	int64		time;

	return get_day(data, len, &days, &time) &&
		days >= -INTERVAL_DAYS_MAX && days <= INTERVAL_DAYS_MAX;
}

static void
print_time(StringInfo out, int64 time)
{
	int			fraction = time % USECS_PER_SEC;
	int			seconds = time / USECS_PER_SEC;

	appendStringInfo(out, "%02d:%02d:%02d", seconds / SECS_PER_HOUR,
					 seconds / SECS_PER_MINUTE % MINS_PER_HOUR, seconds % SECS_PER_MINUTE);
	if (fraction != 0)
	{
		appendStringInfo(out, ".%06d", fraction);
		while (out->data[out->len - 1] == '0')
			out->data[--out->len] = '\0';
	}
}

void
genie_value_time_print(StringInfo out, const uint8 *data, uint32 len)
{
	print_time(out, genie_value_get_uint(data, len));
}

void
genie_value_timestamp_print(StringInfo out, const uint8 *data, uint32 len, const char *zone)
{
	int64		day;
	int64		time;
	int			year;
	int			month;
	int			mday;

	if (len == 1 && (data[0] == MINUS_INFINITY_BYTE || data[0] == INFINITY_BYTE))
	{
		appendStringInfoString(out, data[0] == INFINITY_BYTE ? "infinity" : "-infinity");
		return;
	}
	if (!get_day(data, len, &day, &time))
		elog(ERROR, "malformed timestamp keyword");
	j2date(day + POSTGRES_EPOCH_JDATE, &year, &month, &mday);
	appendStringInfo(out, "%04d-%02d-%02d ", year > 0 ? year : 1 - year, month, mday);
	print_time(out, time);
	appendStringInfoString(out, zone);
	if (year <= 0)
		appendStringInfoString(out, " BC");
}

bool
genie_value_timestamp_seconds(const uint8 *data, uint32 len, float8 *seconds)
{
	int64		day;
	int64		time;

	if (len == 1 && (data[0] == MINUS_INFINITY_BYTE || data[0] == INFINITY_BYTE))
	{
		*seconds = data[0] == INFINITY_BYTE ? INFINITY : -INFINITY;
		return true;
	}
	if (!get_day(data, len, &day, &time))
		return false;
	*seconds = (float8) (day + POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY + (float8) time / USECS_PER_SEC;
	return true;
}

/* Reads min to max digits; false if they are not there. */
static bool
read_digits(const char **at, int min, int max, int *number)
{
	int			n = 0;

	for (*number = 0; n < max && isdigit((unsigned char) **at); n++)
		*number = *number * 10 + (*(*at)++ - '0');
	return n >= min;
}

static bool
read_char(const char **at, char wanted)
{
	if (**at != wanted)
		return false;
	(*at)++;
	return true;
}

/* HH:MM[:SS[.ffffff]]; up to 24:00:00 */
static bool
read_time(const char **at, int64 *time)
{
	int			hour;
	int			minute;
	int			second = 0;
	int64		fraction = 0;

	if (!read_digits(at, 2, 2, &hour) || !read_char(at, ':') || !read_digits(at, 2, 2, &minute))
		return false;
	if (read_char(at, ':'))
	{
		if (!read_digits(at, 2, 2, &second))
			return false;
		if (read_char(at, '.'))
		{
			int64		unit = USECS_PER_SEC / 10;

			if (!isdigit((unsigned char) **at))
				return false;
			for (; isdigit((unsigned char) **at) && unit > 0; unit /= 10)
				fraction += (*(*at)++ - '0') * unit;
		}
	}
	*time = hour * USECS_PER_HOUR + minute * USECS_PER_MINUTE + second * USECS_PER_SEC + fraction;
	return minute < MINS_PER_HOUR && second < SECS_PER_MINUTE && *time <= USECS_PER_DAY;
}

uint32
genie_value_time_parse(const char *text, uint8 *out)
{
	int64		time;

	if (!read_time(&text, &time) || *text != '\0')
		return 0;
	return genie_value_put_uint(out, time, DAY_TIME_BYTES);
}

uint32
genie_value_timestamp_parse(const char *text, bool utc, uint8 *out)
{
	int			year;
	int			month;
	int			mday;
	int64		day;
	int64		time = 0;

	if (strcmp(text, "infinity") == 0 || strcmp(text, "-infinity") == 0)
		return put_infinity(out, text[0] == '-');
	if (!read_digits(&text, 4, 7, &year) || !read_char(&text, '-') ||
		!read_digits(&text, 2, 2, &month) || !read_char(&text, '-') ||
		!read_digits(&text, 2, 2, &mday))
		return 0;
	if ((read_char(&text, 'T') || (text[0] == ' ' && isdigit((unsigned char) text[1]) && read_char(&text, ' '))) &&
		!read_time(&text, &time))
		return 0;
	if (utc && strncmp(text, "+00", 3) == 0)
		text += 3;
	if (year == 0)
		return 0;
	if (strcmp(text, " BC") == 0)
		year = 1 - year;
	else if (*text != '\0')
		return 0;
	if (month < 1 || month > MONTHS_PER_YEAR || mday < 1 || mday > day_tab[isleap(year)][month - 1])
		return 0;
	if (!IS_VALID_JULIAN(year, month, mday))
		return 0;
	day = (int64) date2j(year, month, mday) - POSTGRES_EPOCH_JDATE;
	day += split_days(&time);	/* 24:00 is the next day */
	if (!IS_VALID_DATE(day))
		return 0;
	return put_day(out, day, time);
}
