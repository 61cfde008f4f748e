// The type of WIDTH neighbouring floats, which one instruction loads or stores.

#pragma once

template <int WIDTH> struct Vector;
template <> struct Vector<1> { using type = float; };
template <> struct Vector<2> { using type = float2; };
template <> struct Vector<4> { using type = float4; };
